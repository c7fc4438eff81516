import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { codeLook } from '../parts/code-look.ts'

const theme = EditorView.theme({
  '&': { height: 'auto', maxHeight: '480px' },
  // The frame around the editor has the outline.
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { minHeight: '220px' },
  '.cm-verdicts': { width: '20px', textAlign: 'center' },
  '.verdict.supported': { color: 'var(--accent)' },
  '.verdict.refused': { color: 'var(--danger)', fontWeight: 'bold' },
  '.refused-line': { backgroundColor: 'var(--danger-back)' },
  '.cm-placeholder': { color: 'var(--muted)' },
})

/** The look of the editor of a Dockerfile: that of all editors, with the marks of the check. */
export const editorLook: Extension = [theme, codeLook]
