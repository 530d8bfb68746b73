import '@mantine/core/styles/Button.layer.css'
import { Button, type ButtonProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, Ref } from 'react'

interface ButtonAnchorProps
  extends
    Omit<ButtonProps, 'component'>,
    Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'style' | 'color'> {
  ref?: Ref<HTMLAnchorElement>
}

const ButtonAnchor = (props: ButtonAnchorProps) => <Button component="a" {...props} />

/** A link styled as a button: it navigates, and can be opened in a new tab. */
export const LinkButton = createLink(ButtonAnchor)
