/** The first line of an answer, and the code of an error in its body. */
const marks = /HTTP\/1\.1 (\d{3}) |"error":\{"code":"(\w+)"/g

/** The number of kept bytes. It is longer than any mark, so that a mark in two pieces is found. */
const markBytes = 64

/**
 * Returns a function that counts the answers of one connection: by the code of their error, or
 * otherwise by their status.
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
