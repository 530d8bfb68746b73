import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Loader.layer.css'
import { Button, type ButtonProps } from '@mantine/core'
import type { ComponentProps, MouseEvent } from 'react'

type Native = Pick<ComponentProps<'button'>, 'onClick' | 'onMouseDown' | 'ref' | 'title' | 'type'>

interface BusyButtonProps extends Omit<ButtonProps, 'loading' | 'disabled'>, Native {
  isBusy: boolean
  /** Inactive at present; its title states the reason. */
  isIdle?: boolean
}

/**
 * A button that keeps the focus while it is inactive. A disabled button loses it, and keyboard
 * users would start again at the top of the page.
 */
export function BusyButton(props: BusyButtonProps) {
  const { isBusy, isIdle = false, onClick, ...button } = props
  const isOff = isBusy || isIdle
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    // Enter in a field also clicks the submit button.
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
      // oxlint-disable-next-line react/button-has-type -- the type is among the spread properties
      renderRoot={(root) => <button {...root} disabled={false} />}
    />
  )
}
