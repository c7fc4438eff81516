import fc from 'fast-check'

// A report has what a failed property says, and not what caused it.
fc.configureGlobal({ includeErrorInReport: true })
