import type { DockerfileCheck } from '@holt/sdk'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { pairsOf } from '../parts/pairs.ts'
import { useSession } from '../session/session-context.ts'
import type { BuildFields } from './build-form.ts'

/** The pause in typing after which a Dockerfile is checked, in milliseconds. */
const pauseMs = 300

/** A check, with the text that it is of. */
export interface CheckOfText {
  readonly dockerfile: string
  readonly check: DockerfileCheck
}

/** Checks a Dockerfile at each pause in typing. A check stays until the next one is there. */
export function useCheck({ dockerfile, build_args, target }: BuildFields) {
  const { holt, session } = useSession()
  const asked = usePaused(JSON.stringify([dockerfile, build_args, target]))
  return useQuery({
    queryKey: [session.key_id, 'check', asked],
    queryFn: async ({ signal }): Promise<CheckOfText> => {
      const [text = '', args = '', stage = ''] = JSON.parse(asked) as readonly string[]
      const given = pairsOf(args)
      const check = await holt.templates.check(
        {
          dockerfile: text,
          ...(given === undefined ? {} : { build_args: given }),
          ...(stage.trim() === '' ? {} : { target: stage.trim() }),
        },
        { signal },
      )
      return { dockerfile: text, check }
    },
    enabled: dockerfile.trim() !== '',
    placeholderData: keepPreviousData,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** Returns a text as it was when it last stayed the same for a while. */
function usePaused(text: string): string {
  const [paused, setPaused] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), pauseMs)
    return () => clearTimeout(timer)
  }, [text])
  return paused
}
