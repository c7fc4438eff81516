import { useEffect, useRef, useState } from 'react'
import type { RuntimesSearch } from './runtimes-search.ts'

/** The time after the last key when the text is put into the address, in milliseconds. */
const settleMs = 300

/**
 * Returns the words to find, and the function that changes them. The field has each key at once,
 * and the address has the text when the typing rests. A link that changes the address is followed.
 */
export function useFindText(
  inAddress: string | undefined,
  show: (change: RuntimesSearch) => void,
): readonly [string, (text: string) => void] {
  const [text, setText] = useState(inAddress ?? '')
  const written = useRef(inAddress ?? '')
  useEffect(() => {
    if (written.current === (inAddress ?? '')) return
    written.current = inAddress ?? ''
    setText(written.current)
  }, [inAddress])
  useEffect(() => {
    if (text === written.current) return
    const timer = setTimeout(() => {
      written.current = text
      show({ find: text })
    }, settleMs)
    return () => clearTimeout(timer)
  }, [text, show])
  return [text, setText]
}
