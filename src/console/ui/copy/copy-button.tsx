import '@mantine/core/styles/Button.layer.css'
import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import styles from '../actions.module.css'
import { copyText } from './copy-text.ts'

const TIP_MS = 3000

interface CopyButtonProps {
  /** What is copied. */
  text: string
  label: string
  /** Told whether it worked. */
  onDone?: (isCopied: boolean) => void
}

/** Copies a text and says so on itself for three seconds. */
export function CopyButton({ text, label, onDone }: CopyButtonProps) {
  const { t } = useTranslation()
  const [isCopied, setIsCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setIsCopied(false), TIP_MS)
    return () => clearTimeout(timer)
  }, [isCopied])
  async function copy() {
    const done = await copyText(text)
    setIsCopied(done)
    onDone?.(done)
  }
  return (
    <Button size="xs" variant="default" onClick={() => void copy()}>
      <span aria-live="polite">{isCopied ? t('已复制') : label}</span>
    </Button>
  )
}

/** A piece of code to take along. */
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
