import type { Extension } from '@codemirror/state'
import { highlightSpecialChars } from '@codemirror/view'

/**
 * The characters that reorder or hide text and that CodeMirror does not show by itself: the other
 * embeddings and isolates (Unicode Standard Annex 9, 2), invisible operators, and tags.
 */
const others = /[\u180e\u202a-\u202c\u2060-\u2065\u2068\u206a-\u206f\u{e0000}-\u{e007f}]/u

/** Shows characters of a text that would hide or reorder it, so that code is what it seems. */
export const shownCharacters: Extension = highlightSpecialChars({ addSpecialChars: others })
