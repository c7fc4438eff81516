import { useEffect, useState } from 'react'

/** Returns the address of a blob while a part of the page shows it; null before that. */
export function useBlobAddress(content: string | Uint8Array<ArrayBuffer>, type: string): string | null {
  const [address, setAddress] = useState<string | null>(null)
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([content], { type }))
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [content, type])
  return address
}
