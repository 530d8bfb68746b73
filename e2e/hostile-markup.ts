/** Markup that must not execute anything. Code that does run sets `window.ran`. */
const RUN = 'window.ran=1'

const nested = (text: string, count: number, inner: string): string => text.repeat(count) + inner

const table = (columns: number, rows: number): string =>
  [
    '|a'.repeat(columns),
    '|-'.repeat(columns),
    ...Array.from({ length: rows }, () => '|b'.repeat(columns)),
  ].join('|\n')

export const hostileMarkup: readonly (readonly [what: string, markup: string])[] = [
  ['script', `<script>${RUN}</script>`],
  ['img onerror', `<img src=x: onerror=${RUN}>`],
  ['svg onload', `<svg onload=${RUN}></svg>`],
  ['animate onbegin', `<svg><animate onbegin=${RUN} attributeName=x dur=1s></svg>`],
  [
    'mglyph',
    `<math><mtext><table><mglyph><style><img src=x: onerror=${RUN}></style></table></mtext></math>`,
  ],
  ['details ontoggle', `<details open ontoggle=${RUN}>x</details>`],
  ['body onpageshow', `<body onpageshow=${RUN}>x`],
  ['iframe srcdoc', `<iframe srcdoc="<script>parent.ran=1</script>"></iframe>x`],
  ['object', '<object data="data:text/html,x"></object>x'],
  ['embed', '<embed src="data:text/html,x">x'],
  ['base', '<base href="https://evil.example/">x'],
  ['meta refresh', '<meta http-equiv=refresh content="0;url=/login">x'],
  ['form action', '<form action="https://evil.example"><input name=a autofocus></form>x'],
  ['input formaction', `<input type=submit formaction="javascript:${RUN}">x`],
  ['button form', `<button form=f formaction="javascript:${RUN}">x</button>`],
  ['javascript link', `<a href="javascript:${RUN}">x</a>`],
  ['javascript link with a tab', `<a href=" jav&#x09;ascript:${RUN}">x</a>`],
  ['data link', '<a href="data:text/html,x">x</a>'],
  ['vbscript link', '<a href="vbscript:msgbox(1)">x</a>'],
  ['stylesheet link', '<link rel=stylesheet href="https://evil.example/x.css">x'],
  ['style import', '<style>@import "https://evil.example/x.css"</style>x'],
  ['background by style', '<p style="background:url(http://evil.example/x.png)">x</p>'],
  ['background by escaped style', '<p style="background:u\\72l(http://evil.example/x.png)">x</p>'],
  ['style after a tricky attribute', `<p title="a>b" style="color:red">x</p>`],
  ['style without a space', `<p title="a"style="color:red">x</p>`],
  ['style with a slash', `<p/style="color:red">x</p>`],
  ['style in capitals over lines', `<p\nSTYLE\n=\n"color:red">x</p>`],
  ['style after a comment', `<!-- <a title=" --><p style="color:red">x</p>`],
  ['style after a text area', `<textarea><a title="</textarea><p style="color:red">x</p>`],
  ['template and shadow', `<template shadowrootmode=open><script>${RUN}</script></template>x`],
  [
    'prototype names',
    '<p id=__proto__ name=constructor>x</p><a id=location name=cookie href=#x>y</a>',
  ],
  ['names of our elements', '<p id=content>x</p><p id=floating>y</p><p id=root>z</p>'],
  ['markdown javascript', `[x](javascript:${RUN})`],
  ['markdown image', '![x](http://track.example/x.png)'],
  ['markdown image by https', '![x](https://track.example/x.png)'],
  ['autolink', `<javascript:${RUN}>`],
  ['reference to data', '[x]\n\n[x]: data:text/html,x'],
  ['HTML in markdown', `**a** <img src="x:" onerror="${RUN}"> _b_`],
  ['HTML in a fence', '```html\n<script>window.ran=1</script>\n<p style="color:red">x</p>\n```'],
  ['ten thousand quotes', nested('>', 10_000, 'x')],
  ['ten thousand brackets', nested('[', 10_000, 'x')],
  ['a hundred thousand stars', '*a*'.repeat(33_000)],
  ['underscores', '_a'.repeat(50_000)],
  ['a large table', table(200, 200)],
  ['lists in lists', nested('- ', 3000, 'x')],
  [
    'footnotes',
    Array.from({ length: 2000 }, (_, index) => `[^${index}]: [^${index + 1}]`).join('\n'),
  ],
  ['comment that ends early', `<!-- --!><img src="x:" onerror="${RUN}"> -->x`],
  [
    'picture sets',
    '<picture><source srcset="http://evil.example/x.png"><img srcset="http://evil.example/y.png 2x"></picture>x',
  ],
  [
    'video and its poster',
    '<video src="http://evil.example/x.mp4" poster="http://evil.example/p.png" autoplay></video>x',
  ],
  [
    'audio and track',
    '<audio src="https://evil.example/x.mp3"></audio><video><track src="https://evil.example/t.vtt"></video>x',
  ],
  ['table background', '<table background="http://evil.example/x.png"><tr><td>x</td></tr></table>'],
  [
    'svg image',
    '<svg><image href="http://evil.example/x.svg" /><image xlink:href="http://evil.example/y.svg" /></svg>x',
  ],
  ['svg use', '<svg><use href="https://evil.example/x.svg#a" /></svg>x'],
  [
    'svg paint',
    '<svg><rect width="9" height="9" fill="url(https://evil.example/x.svg#a)" /></svg>x',
  ],
  ['svg link', `<svg><a xlink:href="javascript:${RUN}"><text y="9">x</text></a></svg>`],
  [
    'svg script',
    `<svg><script>${RUN}</script><foreignObject><script>${RUN}</script></foreignObject></svg>x`,
  ],
  ['noscript', `<noscript><p title="</noscript><img src=x: onerror=${RUN}>"></noscript>x`],
  ['comment in svg style', `<svg></p><style><a id="</style><img src=x: onerror=${RUN}>"></svg>`],
  [
    'form in math',
    `<form><math><mtext></form><form><mglyph><style></math><img src=x: onerror=${RUN}>`,
  ],
  ['popover', `<p id=p popover>x</p><a popovertarget=p>y</a>`],
  ['contenteditable focus', `<p contenteditable autofocus onfocus=${RUN}>x</p>`],
  ['custom element', `<x-y onclick=${RUN} is="z">x</x-y>`],
  ['an event named by markdown', `<p onclick\n=\n"${RUN}">x</p>`],
]
