import '@mantine/core/styles/Button.layer.css'
import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import styles from '../actions.module.css'
import { copyText } from './copy-text.ts'

const TIP_MS = 3000

interface CopyButtonProps {
  /** Text to copy. */
  text: string
  label: string
  /** Called with the result. */
  onDone?: (isCopied: boolean) => void
}

/** Copies a text and shows the result on the button for three seconds. */
export function CopyButton({ text, label, onDone }: CopyButtonProps) {
  const { t } = useTranslation()
  const [tip, setTip] = useState('')
  useEffect(() => {
    if (tip === '') return
    const timer = setTimeout(() => setTip(''), TIP_MS)
    return () => clearTimeout(timer)
  }, [tip])
  async function copy() {
    const isCopied = await copyText(text)
    setTip(isCopied ? t('已复制') : t('无法复制，请手动复制'))
    onDone?.(isCopied)
  }
  return (
    <Button size="xs" variant="default" onClick={() => void copy()}>
      <span aria-live="polite">{tip === '' ? label : tip}</span>
    </Button>
  )
}

/** A code block with a copy button. */
export function CodeBlock({ code }: { code: string }) {
  const { t } = useTranslation()
  return (
    <div className={styles['code']}>
      <pre>
        <code>{code}</code>
      </pre>
      <CopyButton text={code} label={t('复制')} />
    </div>
  )
}
