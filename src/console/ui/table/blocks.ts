import { useMediaQuery } from '@mantine/hooks'

/**
 * Whether the window is too narrow for the columns of a table: rows are blocks then, on phones and
 * on tablets held upright. The style sheets of lists name the same width.
 */
export const useBlocks = (): boolean =>
  useMediaQuery('(max-width: 900px)', undefined, { getInitialValueInEffect: false })
