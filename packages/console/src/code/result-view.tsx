import { lazy, Suspense, useState } from 'react'
import { LongText } from '../parts/long-text.tsx'
import { outputText, shownText } from '../parts/shown-text.ts'
import { formsOf, type ShownForm } from './forms.ts'
import { HtmlFrame } from './html-frame.tsx'
import { JsonTree } from './json-tree.tsx'
import { PdfResult } from './pdf-result.tsx'
import { Drawing, Picture } from './picture.tsx'

const ChartResult = lazy(async () => ({ default: (await import('./chart-result.tsx')).ChartResult }))

/** A value of code, in the form that tells most. Its other forms can be chosen. */
export function ResultView({ data }: { readonly data: Readonly<Record<string, unknown>> }) {
  const forms = formsOf(data)
  const [chosen, choose] = useState<string | null>(null)
  const form = forms.find(({ type }) => type === chosen) ?? forms[0]
  if (form === undefined) return null
  return (
    <div className="result">
      {forms.length < 2 ? null : (
        <label className="muted">
          Shown as{' '}
          <select value={form.type} onChange={({ target }) => choose(target.value)}>
            {forms.map(({ type }) => (
              <option key={type} value={type}>
                {shownText(type)}
              </option>
            ))}
          </select>
        </label>
      )}
      <FormView key={form.type} form={form} />
    </div>
  )
}

function FormView({ form: { type, kind, value } }: { readonly form: ShownForm }) {
  if (kind === 'chart')
    return (
      <Suspense fallback={<p role="status">Loading the chart…</p>}>
        <ChartResult value={value} />
      </Suspense>
    )
  if (kind === 'json') return <JsonTree value={value} isOpen />
  const text = String(value)
  if (kind === 'image') return <Picture type={type} text={text} />
  if (kind === 'svg') return <Drawing text={text} />
  if (kind === 'pdf') return <PdfResult text={text} />
  if (kind === 'html') return <HtmlFrame html={text} />
  // Markdown and formulas are text: a page made of them could have links and pictures of the net.
  return <LongText text={outputText(text)} label={shownText(type)} />
}
