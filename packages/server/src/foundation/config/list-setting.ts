import { z } from 'zod'

/**
 * Returns a setting that is a list of items, separated by commas. `parse` returns null for a wrong
 * item. The error names all wrong items.
 */
export const list = <Item>(parse: (text: string) => Item | null, message: string) =>
  z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .transform((parts, context) => {
      const items: Item[] = []
      for (const part of parts) {
        const item = part === '' ? null : parse(part)
        if (item === null)
          context.addIssue({ code: 'custom', message: `${message}: ${part.slice(0, 100) || 'nothing'}` })
        else items.push(item)
      }
      return items
    })
    .default([])
