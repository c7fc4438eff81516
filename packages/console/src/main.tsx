import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { router } from './app/router.tsx'
import { queryClient } from './service/query-client.ts'
import { SignedIn } from './session/signed-in.tsx'
import { followLinks, takeLinkCode } from './session/take-link-code.ts'
import { showTheme } from './shell/theme.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/components.css'
import './styles/resources.css'
import './styles/shell.css'
import './styles/runtimes.css'

showTheme()
// The code is taken before anything else can read the address, or put it into the history.
const code = takeLinkCode()
followLinks()
const place = document.getElementById('console')
if (place === null) throw new Error('index.html has no place for the console')
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <SignedIn code={code}>
        <RouterProvider router={router} />
      </SignedIn>
    </QueryClientProvider>
  </StrictMode>,
)
