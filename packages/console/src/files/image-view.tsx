import { writtenOut } from '@holt/sdk'
import { useEffect, useState } from 'react'

interface ImageViewProps {
  readonly name: string
  readonly type: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/**
 * An image. Within an `img` element the browser runs no script of an SVG, and loads nothing for it.
 */
export function ImageView({ name, type, bytes }: ImageViewProps) {
  const [url, setUrl] = useState<string | null>(null)
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }))
    setUrl(made)
    setBroken(false)
    return () => URL.revokeObjectURL(made)
  }, [bytes, type])
  if (isBroken) return <p role="status">The browser cannot show this image: its content is not what its name says.</p>
  if (url === null) return null
  return (
    <div className="image">
      <img src={url} alt={writtenOut(name)} onError={() => setBroken(true)} />
    </div>
  )
}
