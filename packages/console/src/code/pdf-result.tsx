import { useMemo } from 'react'
import { Button } from 'react-aria-components'
import { bytesText } from '../parts/amount-text.ts'
import { saveBlob } from '../parts/save-blob.ts'
import { bytesOf } from './bytes-of.ts'

/**
 * A PDF that code has made. It is saved and not shown. The policy of the page allows no viewer, and
 * a document in a tab of its own would have the origin of the console.
 */
export function PdfResult({ text }: { readonly text: string }) {
  const bytes = useMemo(() => bytesOf(text), [text])
  return (
    <div className="actions">
      <Button className="button" onPress={() => saveBlob('result.pdf', new Blob([bytes]))}>
        Save the PDF
      </Button>
      <span className="muted">{bytesText(bytes.length)}</span>
    </div>
  )
}
