//! citree end to end, as a user runs it: one binary, a file per subject.

#![allow(clippy::unwrap_used)]

mod agreement;
mod alternatives;
mod audit;
mod browser;
mod calibration;
mod check_and_eval;
mod conllu;
mod damage;
mod demo;
mod evaluator_parity;
mod evidence;
mod explain;
mod explain_html;
mod explain_verb;
mod export;
mod flips;
mod frozen;
mod golden;
mod index;
mod interrupts;
mod lab;
mod modes;
mod parsing;
mod perturb;
mod plain_text;
mod pretrained;
mod raw_text;
mod rejected;
mod sandbox;
mod serve_api;
mod serve_changes;
mod serve_connections;
mod serve_corrections;
mod serve_page;
mod serve_under_load;
mod server;
mod trained;
mod training;
mod treebanks;
mod truncation;
mod weights;
mod what_is_needed;
