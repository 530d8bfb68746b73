import {
  createTheme,
  type CSSVariablesResolver,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
} from '@mantine/core'

/** Mantine requires ten shades; ours is a single accent that adapts to scheme and variant. */
const accent: MantineColorsTuple = [
  'var(--accent-tint)',
  'var(--accent-tint)',
  'var(--accent)',
  'var(--accent)',
  'var(--accent)',
  'var(--accent)',
  'var(--accent)',
  'var(--accent-hover)',
  'var(--accent-hover)',
  'var(--accent-hover)',
]

const bad: MantineColorsTuple = [
  'var(--bad-tint)',
  'var(--bad-tint)',
  'var(--bad)',
  'var(--bad)',
  'var(--bad)',
  'var(--bad)',
  'var(--bad)',
  'var(--bad)',
  'var(--bad)',
  'var(--bad)',
]

/** Mantine uses `gray` in light and `dark` in dark schemes: both map to our scale. */
const gray: MantineColorsTuple = [
  'var(--hover)',
  'var(--hover)',
  'var(--line)',
  'var(--line)',
  'var(--line-strong)',
  'var(--faint)',
  'var(--muted)',
  'var(--muted)',
  'var(--ink)',
  'var(--ink)',
]

const dark: MantineColorsTuple = [
  'var(--ink)',
  'var(--ink)',
  'var(--muted)',
  'var(--muted)',
  'var(--line-strong)',
  'var(--line)',
  'var(--surface)',
  'var(--background)',
  'var(--background)',
  'var(--background)',
]

export const theme = createTheme({
  colors: { accent, red: bad, gray, dark },
  primaryColor: 'accent',
  primaryShade: 6,
  fontFamily: 'var(--font)',
  fontFamilyMonospace: 'var(--font-mono)',
  fontSizes: { xs: '12px', sm: '13px', md: '13px', lg: '14px', xl: '20px' },
  lineHeights: { xs: '20px', sm: '20px', md: '20px', lg: '20px', xl: '28px' },
  fontWeights: { regular: '400', medium: '500', bold: '600' },
  spacing: { xs: '4px', sm: '8px', md: '12px', lg: '16px', xl: '24px' },
  radius: { xs: '4px', sm: '6px', md: '6px', lg: '8px', xl: '8px' },
  defaultRadius: 'sm',
  shadows: {
    xs: 'none',
    sm: 'none',
    md: 'var(--float-shadow)',
    lg: 'var(--float-shadow)',
    xl: 'var(--float-shadow)',
  },
  respectReducedMotion: true,
  cursorType: 'pointer',
  activeClassName: '',
  variantColorResolver: (input) => {
    const colors = defaultVariantColorsResolver(input)
    return input.variant === 'filled' ? { ...colors, color: 'var(--on-accent)' } : colors
  },
  components: {
    Popover: { defaultProps: { shadow: 'md', transitionProps: { duration: 120 } } },
    Menu: {
      defaultProps: {
        shadow: 'md',
        transitionProps: { duration: 120 },
        // A menu may contain only its items.
        withInitialFocusPlaceholder: false,
      },
    },
    // Inside `<main>`, where screen readers expect the page's content.
    Portal: { defaultProps: { target: '#floating' } },
    Input: {
      vars: () => ({
        wrapper: {
          '--input-height': 'var(--control-height)',
          '--input-fz': 'var(--input-text)',
          '--input-padding': '10px',
        },
      }),
    },
    PasswordInput: {
      vars: () => ({
        root: { '--psi-button-size': 'var(--small-control-height)', '--psi-icon-size': '16px' },
      }),
    },
    Button: {
      // Only the primary button is bold; the others have the weight of the surrounding text.
      styles: (_: unknown, props: { variant?: string }) => ({
        root: { fontWeight: props.variant === 'default' ? 400 : 500 },
      }),
      vars: (_: unknown, props: { size?: string }) => ({
        root: {
          '--button-height': `var(--${props.size === 'xs' ? 'small-' : ''}control-height)`,
          '--button-padding-x': props.size === 'xs' ? '8px' : '12px',
          '--button-fz': props.size === 'xs' ? '12px' : '13px',
        },
      }),
    },
  },
})

/** Mantine sets these per scheme, so both schemes need ours; the values adapt by themselves. */
const ours = {
  '--mantine-color-body': 'var(--background)',
  '--mantine-color-text': 'var(--ink)',
  '--mantine-color-bright': 'var(--ink)',
  '--mantine-color-dimmed': 'var(--muted)',
  '--mantine-color-placeholder': 'var(--muted)',
  '--mantine-color-error': 'var(--bad)',
  '--mantine-color-anchor': 'var(--accent)',
  '--mantine-color-white': 'var(--surface)',
  '--mantine-color-default': 'var(--surface)',
  '--mantine-color-default-hover': 'var(--hover)',
  '--mantine-color-default-color': 'var(--ink)',
  '--mantine-color-default-border': 'var(--line-strong)',
  '--mantine-color-disabled': 'var(--hover)',
  '--mantine-color-disabled-color': 'var(--muted)',
  '--mantine-color-disabled-border': 'var(--line)',
  '--mantine-color-accent-filled': 'var(--accent)',
  '--mantine-color-accent-filled-hover': 'var(--accent-hover)',
  '--mantine-color-accent-light': 'var(--accent-tint)',
  '--mantine-color-accent-light-hover': 'var(--accent-tint)',
  '--mantine-color-accent-light-color': 'var(--accent)',
  '--mantine-color-accent-outline': 'var(--accent)',
  '--mantine-primary-color-contrast': 'var(--on-accent)',
} as const

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: ours,
  dark: ours,
})
