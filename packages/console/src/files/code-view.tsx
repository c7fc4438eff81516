import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { bracketMatching, indentOnInput, LanguageDescription } from '@codemirror/language'
import { languages } from '@codemirror/language-data'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, type Extension, Text } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { writtenOut } from '@holt/sdk'
import { type Ref, useEffect, useEffectEvent, useImperativeHandle, useRef } from 'react'
import { codeLook } from '../parts/code-look.ts'
import { replaceSelection } from '../parts/replace-selection.ts'
import { shownCharacters } from '../parts/shown-characters.ts'
import { baseOf } from './file-paths.ts'

/** The functions of the text for the editor around it. */
export interface CodeHandle {
  /** Returns the text to save, with the line breaks of the file. */
  text(): string
  /** Notes that the text that was asked for last is saved. */
  saved(): void
}

interface CodeViewProps {
  readonly path: string
  readonly text: string
  readonly lineBreak: '\n' | '\r\n'
  readonly isReadOnly: boolean
  /** Called with true when the text differs from the saved one, and with false when it does not. */
  readonly onChanged?: (isChanged: boolean) => void
  readonly ref?: Ref<CodeHandle>
}

/**
 * Text with line numbers and the colours of its language. It is in a shadow root, where its styles
 * are sheets of a script: the policy of the page allows no style element.
 */
export function CodeView({ path, text, lineBreak, isReadOnly, onChanged, ref }: CodeViewProps) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const saved = useRef(Text.empty)
  const asked = useRef(Text.empty)
  const report = useEffectEvent(({ doc }: EditorState) => onChanged?.(!doc.eq(saved.current)))
  useEffect(() => {
    const host = place.current
    if (host === null) return
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
    const language = new Compartment()
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          // Without it, other kinds of line breaks in the file would change.
          EditorState.lineSeparator.of(lineBreak),
          EditorView.contentAttributes.of({ 'aria-label': `Text of ${writtenOut(baseOf(path))}` }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) report(state)
          }),
          isReadOnly ? [EditorState.readOnly.of(true)] : writing,
          common,
          language.of([]),
        ],
      }),
    })
    view.current = made
    saved.current = made.state.doc
    report(made.state)
    let isGone = false
    void LanguageDescription.matchFilename(languages, baseOf(path))
      ?.load()
      .then((support) => {
        if (!isGone) made.dispatch({ effects: language.reconfigure(support) })
      })
      .catch(() => {
        // The text has no colours while the service is away.
      })
    return () => {
      isGone = true
      made.destroy()
      view.current = null
    }
  }, [path, text, lineBreak, isReadOnly])
  useImperativeHandle(ref, () => ({
    text: () => {
      asked.current = view.current?.state.doc ?? Text.empty
      return view.current?.state.sliceDoc() ?? text
    },
    saved: () => {
      saved.current = asked.current
      if (view.current !== null) onChanged?.(!view.current.state.doc.eq(saved.current))
    },
  }))
  return <div ref={place} className="code-view" />
}

const writing: Extension = [history(), indentOnInput(), replaceSelection, keymap.of([...historyKeymap, indentWithTab])]

const common: Extension = [
  lineNumbers(),
  shownCharacters,
  drawSelection(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  bracketMatching(),
  search({ top: true }),
  keymap.of([...defaultKeymap, ...searchKeymap]),
  codeLook,
]
