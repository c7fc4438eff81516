import type { DryRun } from '@holt/sdk'

/** Shows the effect of a create: the runtime that it would make, or each reason against it. */
export function CreateCheck({ answer }: { readonly answer: DryRun }) {
  const { would_create, problems, template, isolation, cpu, memory_mib, disk_mib, quotas } = answer
  return (
    <section className={would_create ? 'notice' : 'notice error'} aria-label="What the create would do" role="status">
      <p>
        <strong>{would_create ? 'It would be created. Nothing was made.' : 'It would be refused:'}</strong>
      </p>
      <ul>
        {problems.map(({ code, message, hint }) => (
          <li key={`${code} ${message}`}>
            {message} {hint}
          </li>
        ))}
      </ul>
      {template === null ? null : (
        <p>
          {template.name}, {isolation}, {cpu} vCPU, {memory_mib} MiB of memory, {disk_mib} MiB of disk
        </p>
      )}
      {quotas.map(({ quota, limit, after }) => (
        <p key={quota} className="muted">
          {quota}: {after} of {limit} after it
        </p>
      ))}
    </section>
  )
}
