# Prints the candidates of zsh for a line: zsh -f complete.zsh FOLDER LINE, with the script `_bailiwick` in the folder.
#
# zsh completes only in its line editor, so that a second zsh runs in a pseudo terminal. The second zsh writes each candidate that it
# adds to a file.
zmodload zsh/zpty
zpty editor zsh -f -i
{
  print -r -- "PS1= PS2= RPS1=; autoload -Uz compinit && compinit -u -D"
  print -r -- "source ${(q)1}/_bailiwick"
  print -r -- "compadd() { builtin compadd \"\$@\"; local -a found; builtin compadd -O found \"\$@\"; print -rl -- \$found >>${(q)1}/candidates }"
  # The prompt comes when the editor reads keys.
  print -r -- "PS1=BE''GIN"
} | while read -r line; do zpty -w editor "$line"; done
zpty -r -m editor answer '*BEGIN*'
rm -f "$1/candidates"
zpty -w -n editor "$2"$'\t'
# The candidates are there before the editor reads the next line.
zpty -w -n editor $'\C-U'"print -r -- DO''NE"$'\n'
zpty -r -m editor answer '*DONE*'
zpty -d editor
[[ ! -f $1/candidates ]] || sort -u "$1/candidates"
