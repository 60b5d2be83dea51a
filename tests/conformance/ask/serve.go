package ask

import (
	"bufio"
	"io"
)

// Serve answers each line of the input until there are no more, or until answer returns io.EOF.
func Serve(input io.Reader, output io.Writer, answer func(line []byte) (any, error)) error {
	reader, writer := bufio.NewReaderSize(input, 1<<20), bufio.NewWriterSize(output, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return writer.Flush()
		}
		if err != nil && err != io.EOF {
			return err
		}
		answered, err := answer(line)
		if err == io.EOF {
			return writer.Flush()
		}
		if err != nil {
			return err
		}
		text, err := Line(answered)
		if err != nil {
			return err
		}
		if _, err := writer.Write(append(text, '\n')); err != nil {
			return err
		}
		// All answers that are known leave before the wait for the next question.
		if reader.Buffered() == 0 {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
	}
}
