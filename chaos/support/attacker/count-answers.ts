/** The first line of an answer, and the code of an error in its body. */
const marks = /HTTP\/1\.1 (\d{3}) |"error":\{"code":"(\w+)"/g

/** Longer than any mark, so that none is missed that comes in two pieces. */
const markBytes = 64

/**
 * Counts the answers of one connection, as they come: by the code of their error, or else by their
 * status.
 */
export function countAnswers(answers: Record<string, number>): (data: Buffer) => void {
  const add = (name: string, count: number) => {
    answers[name] = (answers[name] ?? 0) + count
  }
  let kept = ''
  let status: string | null = null
  return (data) => {
    const text = kept + data.toString('latin1')
    let end = 0
    for (const { index, 0: whole, 1: begun, 2: code } of text.matchAll(marks)) {
      end = index + whole.length
      if (begun !== undefined) {
        status = begun
        add(begun, 1)
      } else if (code !== undefined && status !== null) {
        add(status, -1)
        add(code, 1)
        status = null
      }
    }
    kept = text.slice(Math.max(end, text.length - markBytes))
  }
}
