import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { languages } from '@codemirror/language-data'
import { Compartment, EditorState } from '@codemirror/state'
import { EditorView, keymap, lineNumbers, placeholder } from '@codemirror/view'
import { type RefObject, useEffect, useRef } from 'react'
import { replaceSelection } from '../parts/replace-selection.ts'
import { shownCharacters } from '../parts/shown-characters.ts'
import { checkMarks, setChecked } from './check-marks.ts'
import { editorLook } from './editor-look.ts'
import type { CheckOfText } from './use-check.ts'

/** The actions of a page on the editor. */
export interface EditorHandle {
  /** Puts the cursor at the beginning of a line, from 1, and shows it. */
  goTo(line: number): void
}

interface DockerfileEditorProps {
  readonly value: string
  readonly set: (text: string) => void
  readonly check: CheckOfText | undefined
  readonly handle: RefObject<EditorHandle | null>
}

/**
 * The editor of a Dockerfile, with the marks of its check. Tab moves to the next field, as in a
 * form.
 */
export function DockerfileEditor({ value, set, check, handle }: DockerfileEditorProps) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const latest = useRef({ value, set })
  latest.current = { value, set }
  useEffect(() => {
    if (place.current === null) return
    const editor = openEditor(place.current, latest)
    view.current = editor
    handle.current = { goTo: (line) => goTo(editor, line) }
    return () => {
      view.current = null
      handle.current = null
      editor.destroy()
    }
  }, [handle])
  useEffect(() => {
    const editor = view.current
    if (editor === null || editor.state.doc.toString() === value) return
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } })
  }, [value])
  useEffect(() => {
    const editor = view.current
    if (editor === null || check === undefined) return
    // A check of an earlier text waits for the next one: its lines are at other places.
    if (editor.state.doc.toString() === check.dockerfile) editor.dispatch({ effects: setChecked.of(check.check.lines) })
  }, [check])
  return <div className="dockerfile-editor" ref={place} />
}

interface Latest {
  readonly value: string
  readonly set: (text: string) => void
}

/**
 * Opens an editor in the shadow root of an element. There, CodeMirror adopts style sheets and adds
 * no style element, which the policy of the page refuses.
 */
function openEditor(place: HTMLElement, latest: RefObject<Latest>): EditorView {
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' })
  const language = new Compartment()
  const editor = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: latest.current.value,
      extensions: [
        lineNumbers(),
        shownCharacters,
        checkMarks(),
        history(),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'Dockerfile', spellcheck: 'false' }),
        placeholder('FROM python:3.12-slim'),
        language.of([]),
        editorLook,
        replaceSelection,
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) latest.current.set(state.doc.toString())
        }),
      ],
    }),
  })
  const words = languages.find(({ name }) => name === 'Dockerfile')?.load()
  words?.then((support) => editor.dispatch({ effects: language.reconfigure(support) }), noColours)
  return editor
}

/** The editor works without the colours of its words, when they cannot be loaded. */
function noColours(): void {}

function goTo(editor: EditorView, line: number): void {
  const { doc } = editor.state
  const { from } = doc.line(Math.min(Math.max(1, line), doc.lines))
  editor.dispatch({ selection: { anchor: from }, scrollIntoView: true })
  editor.focus()
}
