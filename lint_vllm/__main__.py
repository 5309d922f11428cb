from lint_vllm.cli import main

main()
