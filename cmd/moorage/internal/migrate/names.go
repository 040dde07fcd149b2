package migrate

import (
	_ "embed"
	"fmt"
	"strings"
)

// exported has the names that packages of Moorage export, a package and a name on each line.
//
//go:embed names.txt
var exported string

// missing says that a package of Moorage, below the module's path, has not got a name. What
// is not known of a package is not said.
func missing(pkg, name string) string {
	known := strings.Contains(exported, "\n"+pkg+" ")
	if !known || strings.Contains(exported, "\n"+pkg+" "+name+"\n") {
		return ""
	}

	return fmt.Sprintf("%s is not in %s/%s: see docs/migrating.md for what there is", name, ours, pkg)
}
