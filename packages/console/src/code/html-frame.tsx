import { useMemo } from 'react'
import { frameText } from './frame-text.ts'
import { useBlobAddress } from './use-blob-address.ts'

/**
 * HTML that code has made, in a frame that may do nothing: it runs no script, sends no form, opens
 * no window, and has an origin of its own. It has the policy of the console, which lets it load
 * nothing, and a narrower one.
 */
export function HtmlFrame({ html }: { readonly html: string }) {
  const text = useMemo(() => frameText(html), [html])
  const address = useBlobAddress(text, 'text/html;charset=utf-8')
  if (address === null) return null
  return (
    <div className="html-result">
      <iframe title="A result of the code, HTML" src={address} sandbox="" referrerPolicy="no-referrer" />
    </div>
  )
}
