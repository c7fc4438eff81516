import { useMemo, useState } from 'react'
import { bytesOf } from './bytes-of.ts'
import { useBlobAddress } from './use-blob-address.ts'

interface PictureProps {
  readonly type: string
  /** The picture in base64. */
  readonly text: string
}

/** A picture that code has made. */
export function Picture({ type, text }: PictureProps) {
  const bytes = useMemo(() => bytesOf(text), [text])
  const address = useBlobAddress(bytes, type)
  return address === null ? null : <Shown address={address} type={type} />
}

/**
 * A drawing that code has made. In an image, its scripts do not run and it loads nothing. Opened by
 * itself it would be a page, so it has an address of data, whose origin has nothing of the console.
 */
export function Drawing({ text }: { readonly text: string }) {
  const address = useMemo(() => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text.toWellFormed())}`, [text])
  return <Shown address={address} type="image/svg+xml" />
}

function Shown({ address, type }: { readonly address: string; readonly type: string }) {
  const [isBroken, setBroken] = useState(false)
  if (isBroken) return <p className="muted">The result says that it is {type}, and is not.</p>
  return <img className="picture" src={address} alt={`A result of the code, ${type}`} onError={() => setBroken(true)} />
}
