import type { CompressionCacheSnapshot } from '@stello-ai/session'
import { MapStorage } from './map-storage.js'

/** A JavaScript storage with the two optional methods, with which summaries outlive a handle. */
export class CachingMapStorage extends MapStorage {
  readonly caches = new Map<string, CompressionCacheSnapshot>()

  async getCompressionCache(sessionId: string) {
    return this.caches.get(sessionId) ?? null
  }
  async putCompressionCache(sessionId: string, cache: CompressionCacheSnapshot) {
    this.caches.set(sessionId, cache)
  }
}
