import { writtenOut } from '@holt/sdk'
import { useEffect, useState } from 'react'

interface ImageViewProps {
  readonly name: string
  readonly type: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/**
 * An image. Within an `img` element the browser runs no script of an SVG, and loads nothing for it.
 * Opened by itself a drawing would be a page, and one with the address of a blob would be of the
 * origin of the console. So its address is one of data, whose origin has nothing of the console.
 */
export function ImageView({ name, type, bytes }: ImageViewProps) {
  const [url, setUrl] = useState<string | null>(null)
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    const blob = new Blob([bytes], { type })
    setUrl(null)
    setBroken(false)
    if (type !== 'image/svg+xml') {
      const made = URL.createObjectURL(blob)
      setUrl(made)
      return () => URL.revokeObjectURL(made)
    }
    const reader = new FileReader()
    reader.onload = () => setUrl(String(reader.result))
    reader.readAsDataURL(blob)
    return () => reader.abort()
  }, [bytes, type])
  if (isBroken) return <p role="status">The browser cannot show this image: its content is not what its name says.</p>
  if (url === null) return null
  return (
    <div className="image">
      <img src={url} alt={writtenOut(name)} onError={() => setBroken(true)} />
    </div>
  )
}
