import { useState } from 'react'
import { useRuntimeId } from '../runtime/runtime-route.ts'
import { AllowDialog, type Wanted } from './allow-dialog.tsx'
import { NetworkLog } from './network-log.tsx'
import { PolicySummary } from './policy-summary.tsx'
import '../styles/runtime-tabs.css'

/** The tab of a runtime's network: the hosts that it may reach, and its attempts. */
export function NetworkTab() {
  const id = useRuntimeId()
  const [wanted, want] = useState<Wanted | null>(null)
  return (
    <>
      <PolicySummary runtimeId={id} />
      <NetworkLog runtimeId={id} want={want} />
      {wanted === null ? null : <AllowDialog runtimeId={id} wanted={wanted} onClose={() => want(null)} />}
    </>
  )
}
