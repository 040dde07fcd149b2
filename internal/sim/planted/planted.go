// Package planted compiles known defects into one program, to find them with the simulator. When the program starts,
// one defect is chosen. Start with All, and then Overlay.
//
// A defect is a file. It has lines "key: value". For each edit of a source file it has a line "-- file --", a text, a
// line "-- becomes --", and the replacement of the text. The text occurs once in the source file and is inside a
// function. These are the keys:
//
//	item: the entry for the defect in the list of defects that the simulator has to find
//	why: what the defect does, and where a real defect of this kind was reported
//	breaks: the property that the known schedule breaks, and then those that other schedules may break instead
//	schedule: the smallest known schedule that shows the defect
//	alone: kinds of faults; if a single fault shows the defect, it is of one of these kinds
//	only: the scenarios in which the search without the known schedule looks for the defect
//	search: the reason if the search without the known schedule cannot find the defect
//	client: in place of edits, the name of a client with an error; the tests of package sim have these clients
//	test: in place of a schedule, the name of the test of package sim that fails
package planted

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Defect is an error that All has read from a file: edits of the library, or a client with an error.
type Defect struct {
	Name     string
	Item     string
	Why      string
	Breaks   []string
	Schedule string
	Alone    []string
	Only     string
	Client   string
	Test     string
	Search   string
	Edits    []Edit

	file string
}

// An Edit replaces the text Old with New. Old occurs once in File.
type Edit struct{ File, Old, New string }

// All reads the defects in a folder.
func All(folder string) ([]Defect, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []Defect
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		d, err := read(file, string(data))
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, errors.Errorf("there is no defect in %s", folder)
	}

	return all, nil
}

var mark = regexp.MustCompile(`(?m)^-- (\S+) --\n`)

func read(file, data string) (Defect, error) {
	parts, marks := mark.Split(data, -1), mark.FindAllStringSubmatch(data, -1)
	d := Defect{Name: strings.TrimSuffix(filepath.Base(file), ".txt"), file: file}
	text := map[string]*string{"item": &d.Item, "why": &d.Why, "schedule": &d.Schedule, "only": &d.Only,
		"client": &d.Client, "test": &d.Test, "search": &d.Search}
	for line := range strings.Lines(parts[0]) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch to, ok := text[key]; {
		case key == "breaks":
			d.Breaks = strings.Fields(value)
		case key == "alone":
			d.Alone = strings.Fields(value)
		case ok:
			*to = value
		}
	}
	for i := 0; i+1 < len(marks); i += 2 {
		d.Edits = append(d.Edits,
			Edit{marks[i][1], strings.TrimSuffix(parts[i+1], "\n"), strings.TrimSuffix(parts[i+2], "\n")})
	}
	if d.Why == "" || len(d.Breaks) == 0 || len(marks)%2 != 0 || (d.Client == "") == (len(d.Edits) == 0) {
		return Defect{},
			errors.Errorf("%s is no defect: it needs why, breaks, and either a client or pairs of a file and what becomes of it",
				file)
	}

	return d, nil
}

// Learn replaces the schedule in the file of the defect.
func (d Defect) Learn(schedule string) error {
	data, err := os.ReadFile(d.file)
	if err != nil {
		return err
	}
	text := regexp.MustCompile(`(?m)^schedule: .*\n`).ReplaceAllString(string(data), "")
	breaks := regexp.MustCompile(`(?m)^breaks: .*\n`).FindString(text)

	return os.WriteFile(d.file, []byte(strings.Replace(text, breaks, breaks+"schedule: "+schedule+"\n", 1)), 0o600)
}
