import session from './index.cjs'

export const {
  InMemoryStorageAdapter,
  LLMError,
  MainSession,
  NotImplementedError,
  Session,
  SessionArchivedError,
  StorageError,
  ToolResultsError,
  createAnthropicAdapter,
  createClaude,
  createGPT,
  createMainSession,
  createOpenAICompatibleAdapter,
  createSession,
  createSessionTool,
  forkSession,
  listSessionDigests,
  loadMainSession,
  loadSession,
  tool,
} = session
