/* SPDX-License-Identifier: MIT
 * style.c: how a report looks on a screen, a phone and paper, by day and by night, and the little
 * that it does: sorting a table by a click on its head, and a field that hides what does not fit.
 *
 * Everything is in the page; nothing is fetched.
 */
#include <stddef.h>

#include "jobs/report/report.h"

const char *const sgfsi_report_style[] = {
    ":root{color-scheme:light dark;--ground:#fbfbfa;--card:#fff;--ink:#1c2330;--soft:#4b5563;"
    "--line:#e1e4e8;--good:#00674b;--good-ground:#e8f4ef;--care:#7a5200;--care-ground:#fdf3dc;"
    "--bad:#a3341b;--bad-ground:#fcebe6;--link:#00588a}\n",
    "@media(prefers-color-scheme:dark){:root{--ground:#101317;--card:#171b21;--ink:#e6e9ee;"
    "--soft:#aab2bf;--line:#2a3038;--good:#6fd3ae;--good-ground:#12281f;--care:#f0c569;"
    "--care-ground:#2c2410;--bad:#ff9d83;--bad-ground:#331a13;--link:#7cc4f5}}\n",
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 "
    "system-ui,-apple-system,"
    "'Segoe UI',Roboto,'Noto Sans',sans-serif}\n"
    "main{max-width:1160px;margin:0 auto;padding:32px 20px 64px}\n",
    "h1{font-size:1.6rem;line-height:1.25;margin:0 0 4px;font-weight:650;overflow-wrap:anywhere}\n"
    "h2{font-size:1.2rem;margin:44px 0 10px;font-weight:650;scroll-margin-top:16px}\n"
    "h3{font-size:1rem;margin:24px 0 8px;font-weight:650;overflow-wrap:anywhere}\n"
    "p{margin:8px 0;max-width:72ch}a{color:var(--link)}.soft{color:var(--soft)}\n"
    "nav{margin:14px 0 0;font-size:.92rem}nav a{margin-right:16px;display:inline-block}\n",
    ".verdict{margin:22px 0 0;padding:14px 18px;border-radius:10px;border-left:5px solid}\n"
    ".verdict p{margin:4px 0;overflow-wrap:anywhere}.verdict .say{font-weight:600}\n"
    ".good{background:var(--good-ground);border-color:var(--good)}.good .say{color:var(--good)}\n"
    ".care{background:var(--care-ground);border-color:var(--care)}.care .say{color:var(--care)}\n"
    ".bad{background:var(--bad-ground);border-color:var(--bad)}.bad .say{color:var(--bad)}\n",
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;"
    "margin:16px 0 0;padding:0}\n"
    ".tiles div{background:var(--card);border:1px solid var(--line);border-radius:10px;"
    "padding:12px 14px}.tiles dt{color:var(--soft);font-size:.85rem}.tiles dd{margin:2px 0 0;"
    "font-size:1.35rem;font-weight:600;font-variant-numeric:tabular-nums}\n",
    ".facts{display:grid;grid-template-columns:max-content 1fr;gap:6px 18px;margin:10px 0}\n"
    ".facts dt{color:var(--soft)}.facts dd{margin:0;overflow-wrap:anywhere;min-width:0}\n"
    "code,pre{font:.88em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}\n"
    "pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 12px;"
    "white-space:pre-wrap;overflow-wrap:anywhere;margin:8px 0}\n",
    ".scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);"
    "border-radius:10px;max-height:36rem;overflow-y:auto}\n"
    "table{border-collapse:collapse;width:100%;font-size:.92rem;"
    "font-variant-numeric:tabular-nums}\n"
    "th,td{padding:6px 10px;text-align:right;white-space:nowrap;"
    "border-bottom:1px solid var(--line)}\n"
    "thead th{position:sticky;top:0;background:var(--card);font-weight:600;z-index:1}\n"
    "th:first-child,td:first-child{text-align:left}tbody th{font-weight:500;max-width:22rem;"
    "overflow:hidden;text-overflow:ellipsis}tbody tr:last-child>*{border-bottom:0}\n",
    "th button{all:unset;cursor:pointer;font:inherit}th button:focus-visible{outline:2px solid "
    "var(--link);outline-offset:2px}th button::after{content:'\\2195';opacity:.35;"
    "margin-left:.3em;font-size:.85em}\n"
    "th[aria-sort=ascending] button::after{content:'\\2191';opacity:1}\n"
    "th[aria-sort=descending] button::after{content:'\\2193';opacity:1}\n"
    ".find{display:flex;gap:12px;align-items:center;flex-wrap:wrap;margin:10px 0}\n"
    ".find input{font:inherit;padding:7px 12px;border:1px solid var(--line);border-radius:8px;"
    "background:var(--card);color:inherit;width:min(22rem,100%)}\n",
    ".grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(300px,100%),1fr));"
    "gap:14px}\n"
    "figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:10px;"
    "padding:10px "
    "12px;min-width:0;break-inside:avoid}figure.wide{grid-column:1/-1;overflow-x:auto}\n"
    "figure.wide svg{min-width:560px}\n"
    "figure svg{display:block;width:100%;height:auto;color:#4b5563}\n"
    "figcaption{font-size:.88rem;color:var(--soft);overflow-wrap:anywhere}figcaption b{"
    "color:var(--ink);font-weight:600}\n"
    "details{margin:10px 0}summary{cursor:pointer;color:var(--link)}ul{padding-left:1.2em;"
    "margin:8px 0;max-width:72ch}[hidden]{display:none!important}\n"
    "footer{margin-top:48px;color:var(--soft);font-size:.88rem}\n",
    "@media(max-width:560px){main{padding:20px 14px 48px}.facts{grid-template-columns:1fr;gap:0}"
    ".facts dd{margin-bottom:8px}th,td{padding:6px 8px}tbody th{max-width:11rem}"
    /* ratios in place of coefficients: they are what is read first, and both do not fit */
    ".ratios th:nth-child(n+2):nth-child(-n+4),.ratios td:nth-child(n+2):nth-child(-n+4){"
    "display:none}.ratios td:nth-child(6),.ratios thead th{white-space:normal}.ratios tbody "
    "th{max-width:8rem}}\n",
    "@media print{:root{color-scheme:light;--ground:#fff;--card:#fff;--ink:#000;--soft:#333;"
    "--line:#bbb}body{font-size:10pt}main{max-width:none;padding:0}nav,.find,th button::after{"
    "display:none}.scroll{max-height:none;overflow:visible;border:0}h2,h3{break-after:avoid}"
    "tr{break-inside:avoid}}\n",
    NULL};

#define NIGHT(day, night) "[stroke='" day "']{stroke:" night "}[fill='" day "']{fill:" night "}\n"

/* The colours of plot.c as they are seen on dark ground. */
const char *const sgfsi_report_dark[] = {
    "@media screen and (prefers-color-scheme:dark){figure svg,svg{color:#aab2bf}\n",
    ".ground{fill:#171b21}\n",
    NIGHT("#4b5563", "#aab2bf"),
    NIGHT("#d7dbe0", "#333a44"),
    NIGHT("#8a93a0", "#7d8794"),
    NIGHT("#0072b2", "#4aa8e8"),
    NIGHT("#d55e00", "#ff8a3d"),
    NIGHT("#009e73", "#2cc79a"),
    NIGHT("#cc79a7", "#e59cc5"),
    NIGHT("#56b4e9", "#8fd0f8"),
    NIGHT("#e69f00", "#f5bb40"),
    NIGHT("#7a6a53", "#b8a68b"),
    "}\n",
    NULL};

const char *const sgfsi_report_code[] = {
    "'use strict';\n"
    "for(const table of document.querySelectorAll('table.sorts')){\n"
    " const body=table.tBodies[0],rows=[...body.rows],heads=[...table.tHead.rows[0].cells];\n"
    " const value=(row,k)=>{const t=row.cells[k].textContent.trim(),x=parseFloat(t);"
    "return k===0?t:t==='infinite'?Infinity:x};\n"
    " heads.forEach((head,k)=>head.querySelector('button').addEventListener('click',()=>{\n"
    "  const down=head.getAttribute('aria-sort')===(k===0?'ascending':'descending')?"
    "(k===0?-1:1):(k===0?1:-1);\n"
    "  heads.forEach(h=>h.removeAttribute('aria-sort'));\n"
    "  head.setAttribute('aria-sort',down<0?'descending':'ascending');\n"
    "  const keyed=rows.map((row,i)=>[value(row,k),i,row]);\n"
    "  keyed.sort((a,b)=>{\n"
    "   if(k===0)return down*a[0].localeCompare(b[0],undefined,{numeric:true})||a[1]-b[1];\n"
    "   const x=Number.isNaN(a[0]),y=Number.isNaN(b[0]);\n"
    "   return x||y?x-y||a[1]-b[1]:down*(a[0]-b[0])||a[1]-b[1]});\n"
    "  body.append(...keyed.map(entry=>entry[2]));\n"
    " }));\n"
    "}\n",
    "const field=document.getElementById('filter'),count=document.getElementById('count');\n"
    "if(field){\n"
    " const rows=[...document.querySelectorAll('#effects tbody tr')];\n"
    " const parts=[...document.querySelectorAll('[data-name]')];\n"
    " const apply=()=>{\n"
    "  const words=field.value.toLowerCase().split(/\\s+/).filter(Boolean);\n"
    "  const fits=name=>words.every(word=>name.toLowerCase().includes(word));\n"
    "  let shown=0;\n"
    "  for(const row of rows){row.hidden=!fits(row.cells[0].textContent);shown+=!row.hidden}\n"
    "  for(const part of parts)part.hidden=!fits(part.dataset.name);\n"
    "  count.textContent=shown+' of '+rows.length+' parameters';\n"
    " };\n"
    " field.addEventListener('input',apply);apply();\n"
    "}\n",
    NULL};
