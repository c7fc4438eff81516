export { charsOf, type Glob, type GlobPart, type Spend } from './glob.ts'
export { readIgnorePattern } from './ignore-pattern.ts'
export { Matcher } from './matcher.ts'
export {
  advance,
  beginMatch,
  hasWildcard,
  isWhole,
  type PathPattern,
  type Progress,
  readPathPattern,
  unescapeName,
} from './path-pattern.ts'
