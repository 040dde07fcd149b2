package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (c *console) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of kubectl moorage",
		Long:  "Print the version of kubectl moorage. No request is sent.",
		Example: example(`
kubectl moorage version
kubectl moorage version -o json`),
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionOf(debug.ReadBuildInfo())
			if c.json() {
				return c.writeJSON(v)
			}

			c.say("kubectl moorage %s, %s, %s", v.Version, v.Go, v.Platform)

			return nil
		},
	}
	c.addOutput(cmd, formatJSON)

	return cmd
}

// A version is the JSON of version.
type version struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Version    string `json:"version"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

// versionOf returns the version of a program that was built from a release, or "devel".
func versionOf(info *debug.BuildInfo, ok bool) version {
	v := version{apiVersion, "Version", "devel", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}

	return v
}
