import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import '../styles/code-colours.css'

// Variables reach an editor through its shadow root, and differ between the themes of the page.
const codeColours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword, tags.self], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.literal], color: 'var(--code-number)' },
  { tag: [tags.comment, tags.meta], color: 'var(--code-comment)' },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.tagName], color: 'var(--code-type)' },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.definition(tags.variableName)],
    color: 'var(--code-function)',
  },
  { tag: [tags.propertyName, tags.attributeName, tags.labelName], color: 'var(--code-property)' },
  { tag: [tags.heading, tags.strong], fontWeight: 'bold' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: [tags.link, tags.url], textDecoration: 'underline' },
  { tag: tags.strikethrough, textDecoration: 'line-through' },
])

const field = {
  border: '1px solid var(--edge)',
  borderRadius: '4px',
  background: 'var(--card)',
  color: 'var(--text)',
  font: 'inherit',
}

const codeTheme = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--card)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'ui-monospace, monospace', fontSize: '13px', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--card)', color: 'var(--muted)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'transparent', boxShadow: 'inset 0 0 0 1px var(--line)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--selected)',
  },
  '.cm-searchMatch': { backgroundColor: 'var(--warning-back)', outline: '1px solid var(--edge)' },
  '.cm-searchMatch.cm-searchMatch-selected': { outline: '2px solid var(--accent)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--selected)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--selected)' },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--danger-back)' },
  '.cm-specialChar': { color: 'var(--danger)' },
  '.cm-panels': { backgroundColor: 'var(--back)', color: 'var(--text)' },
  '.cm-panels.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-textfield': field,
  '.cm-button': { ...field, backgroundImage: 'none', minHeight: '24px' },
  '.cm-panel.cm-search [name=close]': { color: 'var(--text)', minWidth: '24px', minHeight: '24px' },
})

/** The look of all editors, in both themes. An extension before it can change it. */
export const codeLook: Extension = [codeTheme, syntaxHighlighting(codeColours)]
