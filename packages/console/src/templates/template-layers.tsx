import { HoltApiError, type TemplateData, writtenOut } from '@holt/sdk'
import { BuildSteps } from '../builds/build-steps.tsx'
import { bytesText } from '../parts/amount-text.ts'
import { plainLine } from '../parts/shown-text.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'

/** The layers of a template: its base, and the steps of the build that made it. */
export function TemplateLayers({ template }: { readonly template: TemplateData }) {
  const { build_id, source, size_bytes, ignored, template_id } = template
  const made = useHoltQuery({
    key: ['builds', template_id, 'made-by', build_id],
    read: async (holt, signal) => {
      // The newest build may have failed. The steps of the last ready one made the template.
      for await (const build of holt.builds.list({ template_id, limit: 20 }, { signal }))
        if (build.status === 'ready') return build.toJSON()
      return null
    },
    enabled: build_id !== null,
  })
  const steps = made.data?.steps.filter(({ state }) => state === 'done' || state === 'cached') ?? []
  return (
    <section aria-label="Layers">
      <h2>Layers</h2>
      <p>
        Base: <code className="wrapped">{writtenOut(source)}</code>
      </p>
      {steps.length === 0 ? (
        <p className="muted">{textOf(made.error)}</p>
      ) : (
        <BuildSteps label="Steps that made it" build={{ steps }} lines={[]} />
      )}
      <p className="muted">
        Holt keeps the image as one file{size_bytes === null ? '' : `, ${bytesText(size_bytes)} with its checkpoint`}.
      </p>
      {ignored.length === 0 ? null : (
        <>
          <h3>Ignored in its build</h3>
          <ul>
            {ignored.map(({ instruction, line, reason }) => (
              <li key={`${line} ${instruction} ${reason}`}>
                {line === null ? '' : `Line ${line}: `}
                <code>{plainLine(instruction)}</code>. {plainLine(reason)}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

function textOf(error: unknown): string {
  if (error === null) return 'No steps on top of the base are known.'
  return error instanceof HoltApiError ? error.message : 'Its steps could not be read.'
}
