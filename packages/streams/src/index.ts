export { GatheredBytes } from './gathered-bytes.ts'
export { mergePieces } from './merge-pieces.ts'
export { ownText } from './own-text.ts'
export { WholeBytes } from './whole-bytes.ts'
