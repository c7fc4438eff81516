import { type Extension, type Range, RangeSet, StateEffect, StateField, type Text } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView, GutterMarker, gutter } from '@codemirror/view'
import type { CheckedLine } from '@holt/sdk'

/** Replaces the marks of the editor with those of a check. */
export const setChecked = StateEffect.define<readonly CheckedLine[]>()

const signs: Readonly<Record<CheckedLine['verdict'], string>> = { supported: '✓', ignored: '–', refused: '✗' }

/** The mark of an instruction. The list below the editor says the same to readers of screens. */
class VerdictMarker extends GutterMarker {
  readonly #line: CheckedLine

  constructor(line: CheckedLine) {
    super()
    this.#line = line
  }

  override eq(other: VerdictMarker): boolean {
    return this.#line.verdict === other.#line.verdict && this.#line.reason === other.#line.reason
  }

  override toDOM(): Node {
    const { verdict, reason, fix } = this.#line
    const sign = document.createElement('span')
    sign.className = `verdict ${verdict}`
    sign.textContent = signs[verdict]
    sign.title = [verdict, reason, fix].filter((part) => part !== null).join('. ')
    return sign
  }
}

const refused = Decoration.line({ class: 'refused-line' })

interface Marks {
  readonly signs: RangeSet<GutterMarker>
  readonly lines: DecorationSet
}

const marks = StateField.define<Marks>({
  create: () => ({ signs: RangeSet.empty, lines: Decoration.none }),
  update: (before, { changes, effects, state }) => {
    let now = changes.empty ? before : { signs: before.signs.map(changes), lines: before.lines.map(changes) }
    for (const effect of effects) if (effect.is(setChecked)) now = marksOf(effect.value, state.doc)
    return now
  },
  provide: (field) => EditorView.decorations.from(field, ({ lines }) => lines),
})

/** Returns the marks of a check. Lines that the text no longer has are left out. */
function marksOf(lines: readonly CheckedLine[], doc: Text): Marks {
  const known = lines.filter(({ line }) => line >= 1 && line <= doc.lines)
  const signsOf: readonly Range<GutterMarker>[] = known.map((line) =>
    new VerdictMarker(line).range(doc.line(line.line).from),
  )
  const refusedLines = new Set(
    known
      .filter(({ verdict }) => verdict === 'refused')
      .flatMap(({ line, end_line }) =>
        Array.from({ length: Math.min(end_line, doc.lines) - line + 1 }, (_, at) => line + at),
      ),
  )
  return {
    signs: RangeSet.of([...signsOf], true),
    lines: Decoration.set(
      [...refusedLines].map((line) => refused.range(doc.line(line).from)),
      true,
    ),
  }
}

/** The gutter with a mark for each checked instruction. */
export function checkMarks(): Extension {
  return [marks, gutter({ class: 'cm-verdicts', markers: ({ state }) => state.field(marks).signs })]
}
