import type { Quotas, QuotaUse } from '@holt/sdk'
import { UseBar } from '../parts/use-bar.tsx'
import { isUsed, quotaFields, quotaOrder } from './quota-fields.ts'

interface QuotaBarsProps {
  readonly quotas: Quotas
  readonly use: QuotaUse
}

/** Shows the quotas of a project with their use, as bars with numbers. */
export function QuotaBars({ quotas, use }: QuotaBarsProps) {
  return (
    <div className="bars">
      {quotaOrder.map((name) => {
        const { title, text } = quotaFields[name]
        const most = quotas[name]
        if (isUsed(name)) return <UseBar key={name} label={title} used={use[name]} most={most} text={text} />
        return (
          <div key={name} className="use-bar">
            <span>{title}</span> <span className="muted">{most === null ? 'no limit' : `at most ${text(most)}`}</span>
          </div>
        )
      })}
    </div>
  )
}
