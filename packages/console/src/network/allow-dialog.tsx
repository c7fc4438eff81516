import type { RuntimeNetwork, SuggestedPolicy } from '@holt/sdk'
import { useState } from 'react'
import { Answer } from '../parts/answer.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { shownText } from '../parts/shown-text.ts'
import { networkKey, useRuntimeNetwork } from '../runtime/use-runtime-network.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'
import { addRules, type Target } from './add-rules.ts'
import { type Allowing, type Decision, rulesOfAll, rulesOfLine, ruleText } from './allow-rules.ts'
import { TargetChoice } from './target-choice.tsx'

/** The denied attempts to allow: one line of the log, or all of them. */
export type Wanted = Decision | 'everything'

interface AllowProps {
  readonly runtimeId: string
  readonly wanted: Wanted
  readonly onClose: () => void
}

/**
 * Shows the rules that would allow something, the policy that gets them, and who has it. Adds them.
 */
export function AllowDialog({ runtimeId: id, wanted, onClose }: AllowProps) {
  const { session } = useSession()
  const network = useRuntimeNetwork(id)
  const suggested = useHoltQuery({
    key: ['runtime', id, 'suggest', wanted === 'everything' ? 0 : wanted.cursor],
    read: async (holt, signal) => (await holt.runtimes.get(id, { signal })).network.suggest({ signal }),
    refetchInterval: false,
  })
  const [chosen, choose] = useState<Target | null>(null)
  const allowing = suggested.data === undefined ? null : allowingOf(wanted, suggested.data)
  const target = chosen ?? targetOf(network.data)
  const adding = useHoltMutation<Target>({
    run: (holt, target) => addRules(holt, { runtimeId: id, target, rules: allowing?.rules ?? [] }),
    changes: [networkKey(id), ['runtime', id], ['policies']],
    onSuccess: onClose,
  })
  const mayAdd = mayUse(session, target?.type === 'policy' ? 'policy:write' : 'runtime:write')
  const canAdd = allowing !== null && allowing.rules.length > 0 && target !== null && mayAdd
  return (
    <FormDialog
      isOpen
      onOpenChange={(open) => (open ? undefined : onClose())}
      title={wanted === 'everything' ? 'Allow what was denied' : 'Allow this'}
      action={canAdd ? 'Add' : null}
      isPending={adding.isPending}
      error={adding.error}
      onSubmit={() => (target === null ? undefined : adding.mutate(target))}
      isWide
    >
      <Answer query={suggested} what="the suggestion">
        {(data) => <Rules allowing={allowingOf(wanted, data)} />}
      </Answer>
      {allowing === null || allowing.rules.length === 0 ? null : (
        <Answer query={network} what="the policy">
          {(data) => <TargetChoice runtimeId={id} network={data} target={target} choose={choose} />}
        </Answer>
      )}
      {target === null || mayAdd ? null : (
        <p>
          Your key may not change it: that needs the scope {target.type === 'policy' ? 'policy:write' : 'runtime:write'}
          .
        </p>
      )}
    </FormDialog>
  )
}

function allowingOf(wanted: Wanted, suggested: SuggestedPolicy): Allowing {
  return wanted === 'everything' ? rulesOfAll(suggested) : rulesOfLine(wanted, suggested)
}

/**
 * Returns the policy that gets the rules unless the person chooses: the one that the runtime has.
 */
function targetOf(network: RuntimeNetwork | undefined): Target | null {
  if (network === undefined) return null
  const { network_policy: policy } = network
  // The choice reads a stored policy first, and says which one it is.
  return policy?.type === 'stored' ? null : { type: 'own' }
}

function Rules({ allowing: { rules, remarks } }: { readonly allowing: Allowing }) {
  return (
    <>
      {rules.length === 0 ? (
        <p role="status">
          No rule is missing that could be added: the policy allows it by now, or no rule can name it.
        </p>
      ) : (
        <div className="lines">
          <p>{rules.length === 1 ? 'This rule is added:' : `These ${rules.length} rules are added:`}</p>
          <ul className="choices" aria-label="Rules to add">
            {rules.map((rule) => (
              <li key={ruleText(rule)}>
                <code className="rule-text">{shownText(ruleText(rule))}</code>
              </li>
            ))}
          </ul>
        </div>
      )}
      {remarks.length === 0 ? null : (
        <ul aria-label="Remarks">
          {remarks.map((remark) => (
            <li key={remark} className="wrapped">
              {shownText(remark)}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
