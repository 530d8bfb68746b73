import { useMediaQuery } from '@mantine/hooks'

/**
 * Whether the window is too narrow for table columns: rows are then shown as blocks, on phones and
 * on tablets in portrait mode. The style sheets of lists use the same width.
 */
export const useBlocks = (): boolean =>
  useMediaQuery('(max-width: 900px)', undefined, { getInitialValueInEffect: false })
