import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'

/**
 * Types over a selection in an editor. Left to the browser, an edit across lines keeps their look
 * by style attributes, which the policy of the page refuses and reports.
 */
export const replaceSelection: Extension = EditorView.domEventHandlers({
  beforeinput: ({ inputType, data, isComposing }: InputEvent, editor: EditorView) => {
    const { main } = editor.state.selection
    if (inputType !== 'insertText' || data === null || isComposing || main.empty || editor.state.readOnly) return false
    editor.dispatch(editor.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true })
    return true
  },
})
