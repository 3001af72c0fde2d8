import conformance from './index.cjs'

export const { storageConformance, storageFeatures } = conformance
