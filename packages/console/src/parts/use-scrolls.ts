import { type RefObject, useEffect, useState } from 'react'

/**
 * Returns true while an element is narrower than its content. Such an element needs a stop for the
 * keys, which scroll it.
 */
export function useScrolls(ref: RefObject<HTMLElement | null>): boolean {
  const [scrolls, setScrolls] = useState(false)
  useEffect(() => {
    const element = ref.current
    const content = element?.firstElementChild
    if (element == null || content == null) return
    const look = () => setScrolls(element.scrollWidth > element.clientWidth)
    const observer = new ResizeObserver(look)
    observer.observe(element)
    observer.observe(content)
    return () => observer.disconnect()
  }, [ref])
  return scrolls
}
