import { createRootRoute } from '@tanstack/react-router'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Layout } from '../shell/layout.tsx'
import { NotFoundPage } from '../shell/not-found-page.tsx'

/** The route above all pages. */
export const root = createRootRoute({
  component: Layout,
  notFoundComponent: NotFoundPage,
  errorComponent: ({ error }) => <ErrorNotice error={error} />,
})
