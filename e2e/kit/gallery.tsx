/**
 * The widgets alone on a page, for the tests beside this file. The fragment of the address names
 * the scene; an `<output>` shows what a widget reports.
 */
import '../../src/console/app/shell/tokens.css'
import '@mantine/core/styles/baseline.layer.css'
import '@mantine/core/styles/global.layer.css'
import '@mantine/core/styles/UnstyledButton.layer.css'
import { MantineProvider, TextInput } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { QuotaInput } from '../../src/console/app/form/quota-input.tsx'
import { startI18n } from '../../src/console/app/i18n.ts'
import { cssVariables, theme } from '../../src/console/app/shell/theme.ts'
import { Toasts } from '../../src/console/app/shell/toasts.tsx'
import { toast } from '../../src/console/app/toast.ts'
import { DataTable } from '../../src/console/ui/data-table.tsx'
import type { TableList, TableSort } from '../../src/console/ui/table/table-list.ts'
import { CellNumber } from '../../src/console/ui/field/cell-field.tsx'
import { PlainField } from '../../src/console/ui/field/plain-field.tsx'
import { SecretField } from '../../src/console/ui/field/secret-field.tsx'
import { StampField } from '../../src/console/ui/field/stamp-field.tsx'
import { PlainDialog } from '../../src/console/ui/float/plain-dialog.tsx'
import { SidePanel } from '../../src/console/ui/float/side-panel.tsx'
import { TaskPopover } from '../../src/console/ui/float/task-popover.tsx'
import { Form, FormRow, SaveBar } from '../../src/console/ui/form.tsx'
import { TagInput } from '../../src/console/ui/tag-input.tsx'
import { Toggle } from '../../src/console/ui/toggle.tsx'

function FormScene() {
  const [name, setName] = useState('')
  const [secret, setSecret] = useState('')
  const [tags, setTags] = useState<string[]>([])
  const [isOn, setIsOn] = useState(false)
  const [isSent, setIsSent] = useState(false)
  const [saved, setSaved] = useState('')
  const [failure, setFailure] = useState('')
  const error = isSent && name === '' ? '请填写名称' : ''
  const changes = name === '' ? [] : [{ label: '名称', from: '空', to: name }]
  const submit = () => {
    setIsSent(true)
    if (name === '') return
    if (name === 'taken') setFailure('名称已存在')
    else setSaved(JSON.stringify({ name, secret, tags, isOn }))
  }
  return (
    <>
      <Form label="令牌" onSubmit={submit}>
        <FormRow label="名称" hint="给人看的" error={error} isRequired>
          {(field) => (
            <TextInput
              {...field}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          )}
        </FormRow>
        <FormRow label="密钥">
          {(field) => <SecretField field={field} value={secret} onChange={setSecret} />}
        </FormRow>
        <FormRow label="模型">
          {(field) => (
            <TagInput
              field={field}
              value={tags}
              onChange={setTags}
              options={['gpt-4o', 'gpt-4o-mini']}
              placeholder="全部"
            />
          )}
        </FormRow>
        <FormRow label="启用">
          {(field) => <Toggle field={field} isOn={isOn} onChange={setIsOn} />}
        </FormRow>
        <SaveBar
          label="保存"
          isBusy={false}
          failure={failure}
          changes={changes}
          note="没有修改"
          cancelLabel="取消"
          onCancel={() => setName('')}
        />
      </Form>
      <PlainField label="密码" type="password" error={isSent ? '密码太短' : undefined} />
      <output>{saved}</output>
    </>
  )
}

interface Fruit {
  id: number
  name: string
  weight: number
}

const PAGE_SIZE = 10
const FRUITS: Fruit[] = Array.from({ length: 25 }, (_, at) => ({
  id: at + 1,
  name: `水果 ${String.fromCodePoint(65 + ((at * 7) % 25))}`,
  weight: (at * 37) % 101,
}))

const openButton =
  (open: (id: number) => void) =>
  ({ id, name }: Fruit) => (
    <button type="button" aria-label={`打开 ${name}`} onClick={() => open(id)}>
      打开
    </button>
  )

function TableScene() {
  const [page, goTo] = useState(0)
  const [sort, sortBy] = useState<TableSort | null>(null)
  const [chosen, setChosen] = useState<readonly number[]>([])
  const [opened, setOpened] = useState(0)
  const list: TableList<Fruit> = {
    rows: FRUITS,
    rowsArePage: false,
    pageCount: 3,
    total: FRUITS.length,
    isLoading: false,
    isRefreshing: false,
    error: null,
    refresh: () => {},
    state: { page, goTo, sort, sortBy },
  }
  return (
    <>
      <DataTable
        label="水果"
        list={list}
        pageSize={PAGE_SIZE}
        columns={[
          { id: 'name', head: '名称', cell: ({ name }) => name, sortBy: ({ name }) => name },
          {
            id: 'weight',
            head: '重量',
            align: 'end',
            cell: ({ weight }) => weight,
            sortBy: ({ weight }) => weight,
          },
        ]}
        block={({ name, weight }) => ({ title: name, titleEnd: weight })}
        onOpen={({ id }) => setOpened(id)}
        isOpen={({ id }) => id === opened}
        rowActions={openButton(setOpened)}
        actionsWidth={80}
        selection={{
          count: chosen.length,
          isChosen: ({ id }) => chosen.includes(id),
          choose: (rows, isOn) => {
            const ids = rows.map(({ id }) => id)
            const rest = chosen.filter((id) => !ids.includes(id))
            setChosen(isOn ? [...rest, ...ids] : rest)
          },
          clear: () => setChosen([]),
          labelOf: ({ name }) => `选择 ${name}`,
          label: '所选水果',
          actions: <button type="button">删除</button>,
        }}
        empty="没有水果"
      />
      <output>{JSON.stringify({ opened, chosen: chosen.length })}</output>
    </>
  )
}

function DialogScene() {
  const [open, setOpen] = useState('')
  const close = () => setOpen('')
  return (
    <>
      <button type="button" onClick={() => setOpen('dialog')}>
        打开对话框
      </button>
      <button type="button" onClick={() => setOpen('panel')}>
        打开侧栏
      </button>
      <TaskPopover
        label="清理"
        isOpen={open === 'task'}
        onOpen={(isOpen) => setOpen(isOpen ? 'task' : '')}
        progress=""
        answers={
          <button type="button" onClick={close}>
            开始
          </button>
        }
      >
        <input aria-label="天数" />
      </TaskPopover>
      {open === 'dialog' && (
        <PlainDialog title="改名" onClose={close}>
          <input aria-label="新名称" />
          <button type="button" onClick={() => toast.error('没有改成')}>
            改名
          </button>
        </PlainDialog>
      )}
      {open === 'panel' && (
        <SidePanel title="详情" onClose={close}>
          <button type="button">复制</button>
        </SidePanel>
      )}
      <Toasts />
      <output>{open}</output>
    </>
  )
}

function ToastScene() {
  const [closed, setClosed] = useState('')
  return (
    <>
      {(['success', 'warning', 'error'] as const).map((kind) => (
        <button key={kind} type="button" onClick={() => toast[kind](`说 ${kind}`)}>
          {kind}
        </button>
      ))}
      <button type="button" onClick={() => toast.notice('公告', () => setClosed('closed'))}>
        notice
      </button>
      <form onSubmit={(event) => event.preventDefault()}>
        <button type="submit">再试</button>
      </form>
      <Toasts />
      <output>{closed}</output>
    </>
  )
}

const DAY_SECONDS = 86_400
const stampOf = (seconds: number): string =>
  new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')
const secondsOf = (text: string): number | null => {
  const ms = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text.trim())
    ? Date.parse(`${text.trim().replace(' ', 'T')}Z`)
    : Number.NaN
  return Number.isNaN(ms) ? null : ms / 1000
}

function InputScene() {
  const [range, setRange] = useState({
    start: 0,
    end: 1_800_000_000 - (1_800_000_000 % DAY_SECONDS),
  })
  const [points, setPoints] = useState('')
  const [weight, setWeight] = useState(5)
  const [wrong, setWrong] = useState(0)
  const stamp = { format: stampOf, parse: secondsOf }
  return (
    <>
      <StampField
        {...stamp}
        label="开始"
        value={range.start}
        atZero="不限"
        timeOfDay="00:00:00"
        onCommit={(start) => setRange({ ...range, start })}
      />
      <StampField
        {...stamp}
        label="结束"
        value={range.end}
        timeOfDay="23:59:59"
        onCommit={(end) => setRange({ ...range, end })}
      />
      <FormRow label="额度">
        {(field) => <QuotaInput field={field} value={points} onChange={setPoints} />}
      </FormRow>
      <CellNumber
        label="权重"
        value={weight}
        onCommit={async (value) => {
          if (value > 100) throw new Error('too heavy')
          setWeight(value)
        }}
        onWrong={() => setWrong(wrong + 1)}
      />
      <output>{JSON.stringify({ ...range, points, weight, wrong })}</output>
    </>
  )
}

const SCENES: Record<string, () => ReactNode> = {
  '#dialogs': DialogScene,
  '#form': FormScene,
  '#inputs': InputScene,
  '#table': TableScene,
  '#toasts': ToastScene,
}

await startI18n()
const Scene = SCENES[location.hash]
const place = document.getElementById('root')
if (Scene === undefined || place === null) throw new Error(`There is no scene ${location.hash}.`)
createRoot(place).render(
  <MantineProvider
    theme={theme}
    cssVariablesResolver={cssVariables}
    deduplicateCssVariables={false}
    defaultColorScheme="light"
  >
    <QueryClientProvider client={new QueryClient()}>
      <Scene />
    </QueryClientProvider>
  </MantineProvider>,
)
