import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'

/** The name of the console in the titles of pages. */
const product = 'Holt'

/**
 * Gives each page its title, and moves the focus to the heading of a page that is opened. So the
 * reader of a screen says where it is, and the next Tab is in the page. A tab of a page keeps the
 * focus on its link, because the heading stays.
 */
export function usePageFocus(): void {
  const router = useRouter()
  useEffect(() => {
    const content = document.getElementById('content')
    if (content === null) return
    let path = router.state.location.pathname
    let named = content.querySelector('h1')
    let isExpected = false
    const look = () => {
      const heading = content.querySelector('h1')
      const tab = content.querySelector('.tabs [aria-current="page"]')
      const parts = [tab?.textContent, heading?.textContent, product].filter(Boolean)
      const title = parts.join(' · ')
      if (document.title !== title) document.title = title
      if (heading === null || heading === named) return
      named = heading
      if (isExpected) focusOn(heading)
      isExpected = false
    }
    // A page shows its heading when it is loaded, and a runtime when its name is known.
    const observer = new MutationObserver(look)
    observer.observe(content, { childList: true, subtree: true, characterData: true })
    look()
    const unsubscribe = router.subscribe('onBeforeNavigate', ({ toLocation }) => {
      if (toLocation.pathname === path) return
      path = toLocation.pathname
      isExpected = true
    })
    return () => {
      observer.disconnect()
      unsubscribe()
    }
  }, [router])
}

/** The frames in which a dialog that is closing may have the focus. */
const mostFrames = 30

/** Focuses an element that Tab does not reach, once no dialog has the focus. */
function focusOn(element: HTMLElement, frames = mostFrames): void {
  if (document.activeElement?.closest('[role="dialog"], [role="alertdialog"]') != null) {
    if (frames > 0) requestAnimationFrame(() => focusOn(element, frames - 1))
    return
  }
  element.tabIndex = -1
  element.focus({ preventScroll: true })
}
