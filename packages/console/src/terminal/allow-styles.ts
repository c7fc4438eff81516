/**
 * Runs a function in which a library makes style elements. The policy of the page refuses those, so
 * the rules go into style sheets of the document, which scripts may set.
 */
export function withoutStyleElements(open: () => void): void {
  const create = (name: string, options?: ElementCreationOptions) =>
    name === 'style' ? styleHolder() : Document.prototype.createElement.call(document, name, options)
  Object.defineProperty(document, 'createElement', { configurable: true, value: create })
  try {
    open()
  } finally {
    Reflect.deleteProperty(document, 'createElement')
  }
}

/**
 * Makes an element that stands for a style element: its text is a style sheet of the document until
 * it is removed.
 */
function styleHolder(): HTMLElement {
  const holder = Document.prototype.createElement.call(document, 'template') as HTMLElement
  const sheet = new CSSStyleSheet()
  document.adoptedStyleSheets.push(sheet)
  Object.defineProperty(holder, 'textContent', { set: (rules: string) => sheet.replaceSync(rules) })
  Object.defineProperty(holder, 'remove', {
    value: () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet)
      Element.prototype.remove.call(holder)
    },
  })
  return holder
}

let areAllowed = false

/**
 * Lets libraries set the attribute `style` of spans. The policy of the page refuses an attribute,
 * and allows the same declarations by script.
 */
export function allowSpanStyles(): void {
  if (areAllowed) return
  areAllowed = true
  const setAttribute = Element.prototype.setAttribute
  HTMLSpanElement.prototype.setAttribute = function (this: HTMLSpanElement, name: string, value: string) {
    if (name === 'style') this.style.cssText = value
    else setAttribute.call(this, name, value)
  }
}
