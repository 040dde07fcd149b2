package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// kubectlScript is the program that kubectl calls for the completion of the plugin.
const kubectlScript = `#!/bin/sh
# kubectl runs this program to complete "kubectl moorage". Its name has to be kubectl_complete-moorage.
exec kubectl-moorage __complete "$@"
`

func completionCommand() *cobra.Command {
	write := map[string]func(root *cobra.Command, out io.Writer) error{
		"bash":       func(root *cobra.Command, out io.Writer) error { return root.GenBashCompletionV2(out, true) },
		"zsh":        func(root *cobra.Command, out io.Writer) error { return root.GenZshCompletion(out) },
		"fish":       func(root *cobra.Command, out io.Writer) error { return root.GenFishCompletion(out, true) },
		"powershell": func(root *cobra.Command, out io.Writer) error { return root.GenPowerShellCompletionWithDesc(out) },
		"kubectl": func(_ *cobra.Command, out io.Writer) error {
			_, err := io.WriteString(out, kubectlScript)

			return err
		},
	}
	shells := []string{"bash", "zsh", "fish", "powershell", "kubectl"}

	return &cobra.Command{
		Use:   "completion (bash | zsh | fish | powershell | kubectl)",
		Short: "Print the completion for a shell",
		Long: `Print the completion of kubectl-moorage for a shell, or the program by which kubectl completes
"kubectl moorage" in the shells for which it has its own completion.`,
		Example: example(`
# kubectl-moorage in this bash
source <(kubectl-moorage completion bash)
# kubectl moorage in all shells
kubectl-moorage completion kubectl > /usr/local/bin/kubectl_complete-moorage
chmod +x /usr/local/bin/kubectl_complete-moorage`),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || write[args[0]] == nil {
				return fmt.Errorf("name one of bash, zsh, fish, powershell and kubectl")
			}

			return write[args[0]](cmd.Root(), cmd.OutOrStdout())
		},
	}
}
