import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Loader.layer.css'
import { Button, type ButtonProps } from '@mantine/core'
import type { ComponentProps, MouseEvent } from 'react'

type Native = Pick<ComponentProps<'button'>, 'onClick' | 'onMouseDown' | 'ref' | 'title' | 'type'>

interface BusyButtonProps extends Omit<ButtonProps, 'loading' | 'disabled'>, Native {
  isBusy: boolean
  /** It has nothing to do at present, or may not: its title says why. */
  isIdle?: boolean
}

/**
 * A button that keeps the focus while it cannot be pressed. One that the browser switches off loses
 * it, and the keyboard has to begin again at the top of the page.
 */
export function BusyButton(props: BusyButtonProps) {
  const { isBusy, isIdle = false, onClick, ...button } = props
  const isOff = isBusy || isIdle
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    // Enter in a field presses the button that sends its form.
    if (isOff) event.preventDefault()
    else onClick?.(event)
  }
  return (
    <Button
      {...button}
      loading={isBusy}
      {...(isIdle ? { 'data-disabled': true } : {})}
      aria-disabled={isOff}
      onClick={press}
      // oxlint-disable-next-line react/button-has-type -- its type is among the rest
      renderRoot={(root) => <button {...root} disabled={false} />}
    />
  )
}
