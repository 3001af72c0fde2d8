export * from './conformance.js'
